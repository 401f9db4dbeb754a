package main

func benchSwap(*table, int) error { return nil }
