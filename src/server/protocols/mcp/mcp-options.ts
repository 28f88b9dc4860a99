import { requireKnown } from '../../../define/option-checks.ts';
import { type Duration, timerMilliseconds } from '../../../core/domain/time.ts';

/** The options of the MCP server at `/mcp`. */
export interface McpOptions {
  /** The longest time that a call waits for its run, which goes on without it. Default 1 hour. */
  maxWait?: Duration;
  /** The longest time that a call waits for a person to decide about a call of its run. Default 1 minute. */
  maxDecisionWait?: Duration;
}

/** The options in the form in which calls read them. */
export interface McpSettings {
  maxWaitMs: number;
  maxDecisionWaitMs: number;
}

/** All options by name: the compiler reports one that is added to the type and missing here. */
const OPTIONS: Record<keyof McpOptions, true> = { maxWait: true, maxDecisionWait: true };

/** Fills in the defaults. Throws a UsageError for unknown options, and for a time that is none. */
export function mcpSettings(options: McpOptions): McpSettings {
  requireKnown('the handler: "mcp"', options, Object.keys(OPTIONS));
  const { maxWait = '1h', maxDecisionWait = '1m' } = options;
  return {
    maxWaitMs: timerMilliseconds(maxWait, 'the handler: "mcp.maxWait"'),
    maxDecisionWaitMs: timerMilliseconds(maxDecisionWait, 'the handler: "mcp.maxDecisionWait"'),
  };
}
