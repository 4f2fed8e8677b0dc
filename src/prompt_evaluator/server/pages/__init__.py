"""Pages for people. A page collects what to show by use cases, and a template draws it."""
