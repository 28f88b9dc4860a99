import { useEffect, useState } from 'preact/hooks';
import { ask } from './api.ts';
import type { AgentDetails } from './api-types.ts';
import { readOthers } from './graph-parts.ts';

/** Reads about the agents that an agent may lead to, from one to the next. One that this caller may not see, or the service does not know, is missing. */
export function useOthers(agent: AgentDetails | undefined): ReadonlyMap<string, AgentDetails> {
  const [others, setOthers] = useState<ReadonlyMap<string, AgentDetails>>(new Map());
  useEffect(() => {
    setOthers(new Map());
    if (agent === undefined) return undefined;
    const gone = new AbortController();
    const read = async (name: string): Promise<AgentDetails | undefined> =>
      ask('GET /v1/agents/{agent}', { params: { agent: name }, signal: gone.signal }).catch(() => undefined);
    void readOthers(agent, read).then((found) => gone.signal.aborted || setOthers(found));
    return () => gone.abort();
  }, [agent]);
  return others;
}
