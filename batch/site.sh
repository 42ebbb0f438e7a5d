# Settings that differ between sites, for all batch scripts. Copy this file to ~/.config/drl/site.sh, beside a script,
# or to the path in the variable DRL_SITE, and uncomment the lines that you need. Jobs read it when they begin. They
# first read the file share/drl/batch/site.sh of the installation, which holds for all users. A copy beside a script is
# only read if it and its directory belong to you or root, nobody else can write to them, and no directory above is
# writable by everybody, as /tmp is.
#
# Slurm needs account and partition before a job starts. sbatch reads them, and other options ("INPUT ENVIRONMENT
# VARIABLES" in `man sbatch`), from SBATCH_* variables of the shell in which you type it. To set them for drl's jobs
# only, type drl_sbatch instead of sbatch: it reads ~/.config/drl/site.sh, and checks the runs before it submits them.

# export SBATCH_ACCOUNT=project         # the account to charge; for srun and salloc: SLURM_ACCOUNT, SALLOC_ACCOUNT
# export SBATCH_PARTITION=gpu           # for srun and salloc: SLURM_PARTITION, SALLOC_PARTITION
# export SBATCH_GPUS_PER_NODE=4         # if --exclusive alone grants no GPUs
# export SBATCH_MEM_PER_NODE=0          # all memory of a node, if --exclusive alone grants little
# export SBATCH_TIMELIMIT=4:00:00       # for each attempt, if the partition has no default limit or a short one

# module load drl                       # or export DRL_BIN=/path/to/bin; scripts look for both in ~/.config/drl/site.sh only
# export DRL_SRUN_OPTIONS=--environment=drl   # options to add to each srun of a job
# export DRL_RUNS_DIR=/scratch/$USER/drl/runs
# export DRL_AFTER_CHECKPOINT='cp "$1" /archive/$USER/'  # runs in the background after each checkpoint; $1 is its file
# export DRL_MAX_REQUEUE=100            # how often a job may be requeued; 0 where the site forbids chains of jobs
# [[ ${SLURM_JOB_QOS:-} != debug ]] || export DRL_MAX_REQUEUE=0   # if only one QOS forbids them (OLCF: debug)
# export DRL_SBCAST=1                   # for hundreds of nodes: each runs a copy of drl in $TMPDIR, or in /DIRECTORY
# export SLURM_MPI_TYPE=pmix            # if `srun --mpi=list` shows it but it is not the default; not on Cray systems

# --- NERSC Perlmutter, GPU nodes: chosen by a constraint; GPUs must be requested; accounts for GPUs end in _g ---
# export SBATCH_ACCOUNT=m1234_g SBATCH_CONSTRAINT=gpu SBATCH_QOS=regular SBATCH_GPUS_PER_NODE=4
# export DRL_RUNS_DIR=$PSCRATCH/drl/runs

# --- CSCS Alps, Grace-Hopper nodes: jobs get whole nodes; NCCL uses Slingshot through its libfabric plugin ---
# export SBATCH_ACCOUNT=g123 SBATCH_PARTITION=normal
# export NCCL_NET="AWS Libfabric"       # fail if the plugin is missing, instead of falling back to TCP
# export NCCL_NET_GDR_LEVEL=PHB NCCL_CROSS_NIC=1 NCCL_PROTO=^LL128
# export FI_CXI_DEFAULT_CQ_SIZE=131072 FI_CXI_DEFAULT_TX_SIZE=16384 FI_CXI_DISABLE_HOST_REGISTER=1
# export FI_CXI_RX_MATCH_MODE=software FI_MR_CACHE_MONITOR=userfaultfd
# export DRL_RUNS_DIR=$SCRATCH/drl/runs
