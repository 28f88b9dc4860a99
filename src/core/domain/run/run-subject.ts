/**
 * For whom and for what a run acts: what an approver must know besides the call that waits. Texts are short, and those of users and
 * models are untrusted: escape them where they are shown.
 */
export interface RunSubject {
  /** The agent or the program that the run began with. */
  agentName: string;
  tenant?: string;
  user?: string;
  /** The tags that the run was started with. */
  tags?: string[];
  /** The title of a session. */
  title?: string;
  /** The beginning of what the user asked, on one line: the first message of the run, or the newest one of a session. */
  question?: string;
}
