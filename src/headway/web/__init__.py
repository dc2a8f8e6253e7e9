"""The web page: watch, understand and steer the sessions of a project in a browser. Nothing here is imported before
it is served."""
