"""Word tables of the verifiers: plain data about English, without rules. Whatever changes here changes the version."""
