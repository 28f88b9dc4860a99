import type { ComponentChildren, JSX } from 'preact';
import { useLayoutEffect } from 'preact/hooks';
import { hrefTo } from './address.ts';
import type { AgentDetails } from './api-types.ts';
import { Graph, loadLayout } from './graph.tsx';
import { agentGraph, programGraph } from './graph-parts.ts';
import { Answer, Fold, Note, useAnswer } from './parts.tsx';
import { may } from './caller.ts';
import { useOthers } from './others.ts';
import { Json, Line, Name, Text } from './text.tsx';
import { TEXTS } from './texts.ts';

/** The agents and programs that the service knows. */
export function AgentsPage(): JSX.Element {
  const agents = useAnswer('GET /v1/agents', {});
  const programs = useAnswer('GET /v1/programs', {});
  return (
    <>
      <h1>{TEXTS.agents}</h1>
      <Answer of={agents}>
        {({ agents: all }) => (all.length === 0 ? <Note>{TEXTS.noAgents}</Note> : <Cards kind="agents" all={all} />)}
      </Answer>
      <Answer of={programs}>
        {({ programs: all }) =>
          all.length === 0 ? (
            <></>
          ) : (
            <>
              <h2>{TEXTS.programs}</h2>
              <Cards kind="programs" all={all} />
            </>
          )
        }
      </Answer>
    </>
  );
}

interface Card {
  name: string;
  description?: string;
  tools?: { name: string }[];
  units?: string[];
}

function Cards({ kind, all }: { kind: string; all: readonly Card[] }): JSX.Element {
  return (
    <ul class="cards">
      {all.map(({ name, description, tools, units }) => (
        <li key={name}>
          <a href={hrefTo([kind, name])}>
            <strong>
              <Name of={name} />
            </strong>
          </a>
          {description !== undefined && <Line of={description} />}
          <small class="dim">
            <Name of={(units ?? tools?.map((tool) => tool.name) ?? []).join(', ')} limit={200} />
          </small>
        </li>
      ))}
    </ul>
  );
}

/** The name of an agent or a program, and where its runs are. */
function Head({ name, children }: { name: string; children?: ComponentChildren }): JSX.Element {
  return (
    <header class="title">
      <h1>
        <Name of={name} />
      </h1>
      <p class="buttons">
        {children}
        <a href={hrefTo(['runs'], { agent: name })}>{TEXTS.runs}</a>
      </p>
    </header>
  );
}

export function AgentPage({ name }: { name: string }): JSX.Element {
  const agent = useAnswer('GET /v1/agents/{agent}', { params: { agent: name } });
  return (
    <>
      <Head name={name}>{may('runs:write') && <a href={hrefTo(['playground', name])}>{TEXTS.talk}</a>}</Head>
      <Answer of={agent}>{(value) => <Details agent={value} />}</Answer>
    </>
  );
}

function Details({ agent }: { agent: AgentDetails }): JSX.Element {
  const others = useOthers(agent);
  const { description, models, instructions, tools, limits, settings, handoffs, agents, mcp } = agent;
  return (
    <>
      {description !== undefined && <Text of={description} />}
      <dl class="facts">
        <List title={TEXTS.models} names={models} />
        <List title={TEXTS.handoffs} names={handoffs} link />
        <List title={TEXTS.below2} names={agents} link />
        <List title={TEXTS.mcp} names={mcp} />
      </dl>
      {agents.length > 0 && <Graph {...agentGraph(agent, { others })} label={TEXTS.graph} />}
      {instructions !== undefined && (
        <>
          <h2>{TEXTS.system}</h2>
          {instructions.map((text, index) => (
            <Text key={index} of={text} />
          ))}
        </>
      )}
      <h2>{TEXTS.tools}</h2>
      {tools.map((tool) => (
        <Fold
          key={tool.name}
          title={
            <>
              <Name of={tool.name} /> {tool.approval !== undefined && <span class="tag warn">{TEXTS.approval}</span>}
            </>
          }
        >
          {() => (
            <>
              <Text of={tool.description} />
              <Json of={tool.parameters} />
            </>
          )}
        </Fold>
      ))}
      <Fold title={TEXTS.settings}>{() => <Json of={{ settings, limits }} />}</Fold>
    </>
  );
}

function List({ title, names, link = false }: { title: string; names: readonly string[]; link?: boolean }): JSX.Element | null {
  if (names.length === 0) return null;
  return (
    <div>
      <dt>{title}</dt>
      <dd>
        {names.map((name) => (
          <span key={name} class="tag">
            {link ? (
              <a href={hrefTo(['agents', name])}>
                <Name of={name} />
              </a>
            ) : (
              <Name of={name} />
            )}
          </span>
        ))}
      </dd>
    </div>
  );
}

export function ProgramPage({ name }: { name: string }): JSX.Element {
  const program = useAnswer('GET /v1/programs/{program}', { params: { program: name } });
  // The graph says it if that fails, and tries again.
  useLayoutEffect(() => void loadLayout().catch(() => undefined), []);
  return (
    <>
      <Head name={name} />
      <Answer of={program}>
        {({ document }) => (
          <>
            <Graph {...programGraph(document)} label={TEXTS.graph} />
            <Json of={document} limit={5_000} />
          </>
        )}
      </Answer>
    </>
  );
}
