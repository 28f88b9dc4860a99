// Starts the service. The worker runs elsewhere: longhaul worker --agents ../first-agent/agents.ts
import { connect } from 'longhaul/client';
import { createService } from './service.ts';

const client = await connect();
const port = Number(process.env['PORT'] ?? 3000);
createService(client).listen(port, () => console.log(`Listening on http://localhost:${port}`));
