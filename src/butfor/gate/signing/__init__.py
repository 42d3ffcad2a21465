"""What is signed, by whom, and whose signatures count."""
