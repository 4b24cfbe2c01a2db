"""What is known about a user: facts, summaries, session titles, and the profile made from them."""
