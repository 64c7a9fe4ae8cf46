"""What people look at: tables, drawings, pages."""
