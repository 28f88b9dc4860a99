import type { TerminalStatus } from './run-status.ts';
import type { OfRun } from './tool-messages.ts';

/** Input of `notifyEnded`. The result is asked for: it is in no input. */
export interface NotifyEndedInput extends OfRun {
  agentName: string;
  status: TerminalStatus;
}
