// Sends a plan from several k6 runners, each the part of its execution segment. They begin at one instant.
import { Churn } from 'k6/x/podchurn';

export const options = {
  // Divided among the runners. For a closed loop, write the plan's number of threads.
  scenarios: { load: { executor: 'per-vu-iterations', vus: 64, iterations: 1, maxDuration: '24h', gracefulStop: '5m' } },
  setupTimeout: '20m', // each waits until all are ready
  teardownTimeout: '20m', // the first waits until all are done
};

const churn = new Churn({ kubeconfig: __ENV.KUBECONFIG, opLog: __ENV.OPLOG, plan: __ENV.PLAN });

export function setup() {
  churn.prepare();
}

export default function () {
  while (churn.step());
}

export function teardown() {
  churn.finish();
}
