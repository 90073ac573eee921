"""``python -m tracegraph``."""

from tracegraph.cli.main import main

if __name__ == "__main__":
    main()
