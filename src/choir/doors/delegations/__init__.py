"""What an agent may do, spend, and until when."""
