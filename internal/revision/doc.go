// Package revision builds a program as it was at a revision of a git repository, beside what
// is checked out.
//
// It promises:
//
//  1. The working tree, its index and the repository's metadata are not touched: the files of
//     a revision are written to a folder of their own, by an index of their own, and removed.
//  2. What is built of a commit is kept in the user's cache, by commit and by
//     the settings of the Go toolchain, and is not built again; the newest Kept are kept.
//  3. Two programs have the same Code exactly if they were linked from the same machine code:
//     it is the digest of a build without the version stamp and without paths.
//  4. A revision that is not there is an error of bad input that says what to fetch where the
//     clone is shallow.
//  5. A revision whose program does not build is a *BuildError.
//
// Submodules and files of git LFS are not fetched.
package revision
