import type { ModelSettings } from '../agent/agent-snapshot.ts';

/** Settings of one run that override its agent or add to it. Plain JSON, in the input of the run. */
export interface RunOverrides {
  /** `provider/model`; overrides the agent's model. */
  model?: string;
  /** Each setting overrides the agent's own. */
  settings?: ModelSettings;
  /** Words by which runs are found, and by which providers may tell runs apart. */
  tags?: string[];
  /** The stream of the run may travel in the heartbeats of its calls, each of which is a call to the server. */
  live?: true;
}

/** Returns the overrides that are set, for the input of an activity. */
export function overridesIn({ model, settings, tags, live }: RunOverrides): RunOverrides {
  return {
    ...(model === undefined ? {} : { model }),
    ...(settings === undefined ? {} : { settings }),
    ...(tags === undefined ? {} : { tags }),
    ...(live === undefined ? {} : { live }),
  };
}
