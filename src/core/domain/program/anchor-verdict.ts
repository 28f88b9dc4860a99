/** The violations of one anchor in an answer. */
export interface AnchorBreach {
  anchor: string;
  violations: string[];
}

/** The outcome of all anchors of an answer, as plain data. */
export interface AnchorVerdict {
  /** True if no anchor stops the answer. */
  passed: boolean;
  /** The names of the anchors that were checked, in order. */
  checked: string[];
  /** The breaches that stop the answer, in the order of the anchors. */
  breaches: AnchorBreach[];
  /** The breaches of anchors that only warn, in the order of the anchors. */
  warnings: AnchorBreach[];
  /** The anchors that were not checked because the answer admits that it does not know. */
  excused: string[];
}
