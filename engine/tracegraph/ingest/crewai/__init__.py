"""What CrewAI records of its crews."""
