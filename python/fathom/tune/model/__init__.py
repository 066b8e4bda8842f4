"""What settings cost, learnt from trials: a formula that a person reads, or trees; and searches led by it."""
