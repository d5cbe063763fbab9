"""Colours that every chart shares; colour-blind readers tell them apart (Okabe and Ito 2008)."""

SOURCE = "#0072B2"
TARGET = "#D55E00"
CROSS = "#CC79A7"
PAPER = "#666666"
OURS = "#009E73"
