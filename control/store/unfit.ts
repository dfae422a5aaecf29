/** A store that this version or this configuration cannot use, as a sentence for the operator: no further attempt helps. */
export class UnfitStore extends Error {}
