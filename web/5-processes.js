// Who uses most: processes and control groups, and the GPUs. The server finds them, so that a page does not ask for all
// processes.

const users = document.getElementById("users"), USAGE = ["CPU", "memory", "read", "written"];
const processTable = new Table(users, "Processes", ["process", "user", ...USAGE]);
const groupTable = new Table(users, "Control groups", ["control group", ...USAGE]);

function usageCells({ cpu, memory, read, written: wrote }) {
  return [cpu == null ? null : digits(cpu * 100) + " %", written("bytes", memory), written("bytes/s", read),
    written("bytes/s", wrote)];
}

const gpuTable = new Table(users, "GPUs", ["GPU", "busy", "memory", "power", "heat", "held back by"]);

function gpuRow({ name, busy, memory, total, power, temperature, throttle }) {
  const share = (x, text) => x == null ? null : bar(x, text);
  return { name, cells: [share(busy == null ? null : busy / 100, `${busy} %`),
    share(total > 0 ? memory / total : null, written("bytes", memory)), written("W", power), written("°C", temperature),
    throttle] };
}

// A server that does not tell has no tables.
async function updateBusiest() {
  const { processes = [], cgroups = [], gpus = [] } = await answerOf("busiest.json");
  processTable.update(processes.map((p) => ({ name: `${p.name} ${p.pid}`, cells: [p.user, ...usageCells(p)] })),
    "100 % is one CPU");
  gpuTable.update(gpus.map(gpuRow));
  groupTable.update(cgroups.map((g) => ({ name: g.name, cells: usageCells(g) })));
}
