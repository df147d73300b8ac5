"""What a training or a search keeps on disk, and how it gets there."""
