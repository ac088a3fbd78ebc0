"""Reading of ledger files and adding up."""
