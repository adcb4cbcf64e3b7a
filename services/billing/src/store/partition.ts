// The one partition of the ledger. A second one is a drain away: every row and every aggregate already says whose it is.

/** Part of subjects (`billing.v1.p0.>`), of ledger rows (`p`) and of the ids of aggregates. */
export const PARTITION = 'p0';
