import type { ModelSettings } from '../agent/agent-snapshot.ts';

/** What a start says of one run instead of, or beside, what its agent says. Plain JSON, in the input of the run. */
export interface RunOverrides {
  /** `provider/model`, instead of the agent's. */
  model?: string;
  /** Each instead of the agent's own. */
  settings?: ModelSettings;
  /** Words that runs are found by, and providers may tell runs apart by. */
  tags?: string[];
}

/** Those that are there, for the input of an activity. */
export function overridesIn({ model, settings, tags }: RunOverrides): RunOverrides {
  return {
    ...(model === undefined ? {} : { model }),
    ...(settings === undefined ? {} : { settings }),
    ...(tags === undefined ? {} : { tags }),
  };
}
