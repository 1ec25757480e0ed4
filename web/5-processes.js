// Who uses most: processes and control groups. The server finds them, so that a page does not ask for all processes.

function usageTable(title, first) {
  return new Table(document.getElementById("users"), title, [first, "CPU", "memory", "read", "written"]);
}

const processTable = usageTable("Processes", "process"), groupTable = usageTable("Control groups", "control group");

function usageRow(name, { cpu, memory, read, written: wrote }) {
  return { name, cells: [cpu == null ? null : digits(cpu * 100) + " %", written("bytes", memory), written("bytes/s", read),
    written("bytes/s", wrote)] };
}

// A server that does not tell has no tables.
async function updateBusiest() {
  const { processes = [], cgroups = [] } = await answerOf("busiest.json");
  processTable.update(processes.map((p) => usageRow(`${p.name} ${p.pid}`, p)), "100 % is one CPU");
  groupTable.update(cgroups.map((g) => usageRow(g.name, g)));
}
