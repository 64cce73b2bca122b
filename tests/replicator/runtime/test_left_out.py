"""Claims about leaving pandas out: its import fails, and pyarrow and polars go without it."""

import subprocess
import sys

PROGRAM = """
import sys
from replicator.runtime.left_out import LeftOut, leave_out_pandas

leave_out_pandas()
leave_out_pandas()
assert sum(isinstance(finder, LeftOut) for finder in sys.meta_path) == 1
import numpy as np
import polars as pl
import pyarrow as pa

assert pa.array(np.arange(3)).to_pylist() == [0, 1, 2]
assert pa.scalar(b"x").as_py() == b"x"
assert pl.Series(np.arange(2)).to_arrow().to_pylist() == [0, 1]
import pyarrow.compute
try:
    import pandas
except ImportError as error:
    print(error)
assert "pandas" not in sys.modules
"""


def test_pandas_is_as_if_it_were_not_installed():
    told = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, check=True)
    assert told.stdout.decode() == "pandas is left out\n"
    assert told.stderr.decode() == ""
