"""agent-lattice JSON Lines."""
