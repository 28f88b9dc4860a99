import { useEffect, useState } from 'preact/hooks';
import { ask } from './api.ts';
import type { AgentDetails } from './api-types.ts';

/** The most agents that the page reads about for one graph. */
const MOST = 40;

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

type Named = Pick<AgentDetails, 'name' | 'agents'>;

/** Returns the agents that an agent may lead to, by name, as far as `read` returns them. Each is read once. */
export async function readOthers<One extends Named>(
  agent: Named,
  read: (name: string) => Promise<One | undefined>,
): Promise<ReadonlyMap<string, One>> {
  const found = new Map<string, One>();
  const asked = new Set([agent.name]);
  for (let next = agent.agents; next.length > 0;) {
    const names = [...new Set(next)].filter((name) => !asked.has(name)).slice(0, MOST - asked.size);
    for (const name of names) asked.add(name);
    const answers = (await Promise.all(names.map(read))).filter((one) => one !== undefined);
    for (const one of answers) found.set(one.name, one);
    next = answers.flatMap(({ agents }) => agents);
  }
  return found;
}
