"""How to find a policy: rewards of augmented windows and what is learned from them."""
