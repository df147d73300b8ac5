"""What operations do to classes, by the predictions of trained models."""
