"""Networks that select features, in PyTorch, which is imported when one is trained."""
