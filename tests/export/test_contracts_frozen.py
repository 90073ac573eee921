"""A published contract stays as it is: every change of one shows here, and is made on purpose.

``contracts/contracts.lock`` holds the SHA-256 of each, as ``sha256sum`` writes and checks it::

    cd contracts && sha256sum *.json > contracts.lock

What breaks readers (a field removed, renamed or of another type) is a new version in a new file.
"""

import hashlib

from shared_data import ROOT

CONTRACTS = ROOT / "contracts"


def test_every_contract_has_the_recorded_digest() -> None:
    lines = (CONTRACTS / "contracts.lock").read_text(encoding="utf-8").splitlines()
    recorded = {name: digest for digest, name in (line.split("  ") for line in lines)}
    found = {
        path.name: hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(CONTRACTS.glob("*.json"))
    }
    assert list(recorded) == sorted(recorded)
    assert recorded == found
