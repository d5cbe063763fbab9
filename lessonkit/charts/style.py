"""Colours that every chart shares; colour-blind readers tell them apart (Okabe and Ito 2008)."""

SOURCE = "#0072B2"
TARGET = "#D55E00"
CROSS = "#CC79A7"
PAPER = "#666666"
OURS = "#009E73"

INK, LINES, GRID = "#1a1a1a", "#888888", "#dddddd"

# What a chart says of its own ground and text. JupyterLab's dark theme would otherwise draw white
# labels and a dark ground, on which black marks vanish.
ON_WHITE = {
    "background": "#ffffff",
    "title": {"color": INK, "subtitleColor": INK},
    "style": {"guide-label": {"fill": INK}, "guide-title": {"fill": INK}},
    "axis": {"domainColor": LINES, "gridColor": GRID, "tickColor": LINES},
}
