// Package clustertests has the acceptance tests of the cluster, with real
// processes: a ZooKeeper from scripts/zookeeper, and nimbuses, supervisors and
// workers that are the program cmd/stormring. All of it is tests; begin at
// cluster_test.go, which starts and breaks a cluster, then read
// wordcount_test.go, where the words of a text are counted exactly while
// everything dies around them.
//
// What a test waits for is an event with a deadline, never the passing of time.
// Limits of time are the product's promises, on whatever machine; since another
// program may take the processor away for a moment, a time is measured up to
// three times and the best counts: noise can only add.
//
// Cutting links between hosts (links_test.go) takes network namespaces and so
// root on Linux; elsewhere those tests are skipped. STORMRING_SOAK=1 has the
// tests of chaos run with larger inputs, more rounds, and ZooKeeper away for 30
// seconds instead of 5. STORMRING_EXAMPLES=all (or names, with commas) has the
// examples of Storm's API in Java run through their whole series.
// STORMRING_SEED=N repeats an order of events; each test logs its own.
// STORMRING_BINARY names a program to test instead of one built here,
// STORMRING_KEEP=1 leaves the folders of clusters for a look.
package clustertests
