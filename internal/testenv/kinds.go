package testenv

// kinds are the servers that Wanted looks for.
var kinds = []server{postgresKind, pgbouncerKind, redisKind, mongoKind}
