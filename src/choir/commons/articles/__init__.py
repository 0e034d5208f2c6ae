"""Articles: Markdown with marked claims, its drafts, versions, rendering and bundles."""
