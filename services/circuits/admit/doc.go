// Package admit decides whether a circuit fits, on which path, and if it does not, why not and what would.
//
// In: a graph of the network, what circuits may use of each link, outages, the circuits there are, and a request. Out:
// a grant, which is entered into the book as it is, or a refusal with the links that lack room and offers that have it.
// Next: the service that keeps the book in a store and puts circuits on routers.
//
// Mutation testing: 656 of 723 killed (docs/reference/mutants.md).
package admit
