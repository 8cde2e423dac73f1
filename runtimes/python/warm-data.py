"""On top of warm.py: modules that work on data, the larger used once for what they load late."""

import io
import os

os.environ["MPLCONFIGDIR"] = "/tmp"  # asked for at import; nothing is written there in a call

import lxml.etree
import matplotlib.font_manager
import matplotlib.pyplot
import numpy
import openpyxl
import pandas
import pandas.plotting
import yaml


def use_pandas():
    table = pandas.read_csv(io.StringIO("day,key,value\n2024-01-01,a,1\n2024-01-02,b,2.5\n"))
    table["day"] = pandas.to_datetime(table["day"])
    table.merge(table, on="key").sort_values("value_x").describe()
    table.groupby("key").agg({"value": ["sum", "mean"]})
    table.pivot_table(index="day", columns="key", values="value").fillna(0).rolling(1).mean()
    pandas.read_json(io.StringIO(table.to_json(date_format="iso")))
    table.set_index("day").resample("D").sum().to_csv()
    str(table), str(table["value"])


def use_numpy():
    square = numpy.linalg.inv(numpy.random.default_rng(0).random((3, 3)))
    numpy.fft.fft(square @ square.T)
    str(square)


def use_matplotlib():
    figure, axes = matplotlib.pyplot.subplots()
    axes.plot([1, 2], [3, 4], label="a")
    axes.bar([1, 2], [3, 4])
    axes.set_title("T")
    axes.legend()
    figure.savefig(io.BytesIO())
    matplotlib.pyplot.close("all")
    # A font that is kept is a file that is kept open, and no file stays open in an image.
    matplotlib.font_manager._get_font.cache_clear()


use_pandas()
use_numpy()
use_matplotlib()
