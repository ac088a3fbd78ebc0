"""The three examples of the instruction. Run from the workspace: python3 examples/smoke.py"""

import pathlib
import subprocess
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent
SHOP = "examples/shop.csv"


def run(*argv):
    return subprocess.run([sys.executable, "ledger.py", *argv], cwd=ROOT, capture_output=True, text=True, timeout=20)


class Examples(unittest.TestCase):
    def check(self, argv, code, out):
        done = run(*argv)
        self.assertEqual((done.returncode, done.stdout, done.stderr), (code, out, ""))

    def test_balance(self):
        self.check(
            ["balance", SHOP],
            0,
            "assets:bank\t169.50\nequity\t-250.00\nexpenses:rent\t80.50\nTOTAL\t0.00\n",
        )

    def test_report(self):
        self.check(
            ["report", "--rate", "0.5", "--as-of", "2024-03-03", SHOP],
            0,
            "assets\t1\t125.00\nequity\t1\t-125.00\nTOTAL\t2\t0.00\n",
        )

    def test_check(self):
        self.check(["check", SHOP], 0, "ok\t2\n")


if __name__ == "__main__":
    unittest.main()
