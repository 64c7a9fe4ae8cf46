"""Single questions: what a choice brings, what a reader or a killed run withstands, pages to look at by eye."""
