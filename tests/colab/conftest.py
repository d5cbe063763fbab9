"""The maintainers' scripts of docs/colab are imported as they import each other."""

import sys

from tests.helpers import ROOT

sys.path.append(str(ROOT / "docs" / "colab"))
