import { type ReactNode, useEffect, useState } from 'react';
import { createRoot } from 'react-dom/client';

/** The pause between two looks at the calls that wait. */
const LOOK_MS = 1_000;

/** The identity and the purpose of a run. */
interface About {
  agentName: string;
  tenant?: string;
  user?: string;
  tags?: string[];
  title?: string;
  question?: string;
}

/** The part of an approval that the page shows and decides on. */
interface Approval {
  runId: string;
  about: About;
  callId: string;
  digest: string;
  toolName: string;
  arguments: Record<string, unknown>;
}

async function waitingCalls(): Promise<Approval[]> {
  const response = await fetch('/v1/approvals');
  return response.ok ? ((await response.json()) as { approvals: Approval[] }).approvals : [];
}

async function decide({ runId, callId, digest }: Approval, type: 'approve' | 'reject'): Promise<void> {
  const path = `/v1/runs/${encodeURIComponent(runId)}/approvals/${encodeURIComponent(callId)}`;
  await fetch(path, { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify({ type, digest }) });
}

/** Says which agent acts on whose behalf, in which chat. React escapes it: these are texts of users. */
function whom({ agentName, tenant, user, tags = [], title }: About): string {
  const name = [user, tenant].filter((part) => part !== undefined).join(' of ');
  const facts = [`${agentName}${name === '' ? '' : ` for ${name}`}`, ...(title === undefined ? [] : [`“${title}”`]), ...tags];
  return `${facts.join(' · ')}.`;
}

/** The page of a supervisor, who decides about the calls of all chats. */
function Desk(): ReactNode {
  const [waiting, setWaiting] = useState<Approval[]>([]);
  useEffect(() => {
    const timer = setInterval(() => void waitingCalls().then(setWaiting), LOOK_MS);
    return () => clearInterval(timer);
  }, []);
  return (
    <>
      <h1>Calls that wait</h1>
      {waiting.length === 0 && <p className="note">Nothing waits.</p>}
      {waiting.map((approval) => (
        <article key={`${approval.runId} ${approval.callId}`} className="call" data-run={approval.runId}>
          <code>
            {approval.toolName} {JSON.stringify(approval.arguments)}
          </code>
          {approval.about.question !== undefined && <blockquote>{approval.about.question}</blockquote>}
          <p className="note">
            {whom(approval.about)} Chat {approval.runId}
          </p>
          <button type="button" onClick={() => void decide(approval, 'approve')}>
            Approve
          </button>
          <button type="button" className="quiet" onClick={() => void decide(approval, 'reject')}>
            Reject
          </button>
        </article>
      ))}
    </>
  );
}

const root = document.querySelector('#page');
if (root !== null) createRoot(root).render(<Desk />);
