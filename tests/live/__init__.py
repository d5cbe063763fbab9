"""The page that translates in the browser, `docs/live/`, held to the package."""
